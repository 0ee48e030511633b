##@ Pictures

.PHONY: report
report: ## what the suites measured, as one page with charts: build/report/index.html
	@if [ -s $(BENCH_DIR)/results.csv ]; then $(MAKE) --no-print-directory -s bench-predictions > /dev/null; fi
	@sh bench/report.sh $(B)
