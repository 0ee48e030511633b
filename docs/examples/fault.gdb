# gdb commands: stop where a stage notices that its heap is damaged, and show who called and what was found.
set breakpoint pending on
break mm_report_fault
run
backtrace
print fault
print/x *(struct block *)(memory.start + fault.offset)
print/x *(struct block *)(memory.start + 8)
