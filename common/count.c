#include "count.h"

struct mm_counts mm_counts;
