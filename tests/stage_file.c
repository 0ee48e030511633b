/* stage_file.c - the file of the stage that a test is linked with: compiled for each stage. */
#include "stage_file.h"

const char stage_file[] = MM_STAGE_FILE;
