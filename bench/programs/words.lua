-- Counts words and who follows whom: many small strings and tables. Lua calls realloc for everything.
local followers, names, last, n = {}, {}, nil, 0
for line in io.lines(arg[1]) do
    for word in line:gmatch("%S+") do
        n = n + 1
        if last then
            local list = followers[last]
            if not list then
                list = {}
                followers[last] = list
                names[#names + 1] = last
            end
            list[#list + 1] = word .. "!" .. (n % 16)
        end
        last = word
    end
end
table.sort(names)
print(n, #names)
for i = 1, #names, 97 do
    print(names[i], #followers[names[i]], table.concat(followers[names[i]], ",", 1, 1))
end
