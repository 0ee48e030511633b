#ifndef STAGE_FILE_H
#define STAGE_FILE_H

/* The path of the stage under test, from the top folder: "stages/my2/mm.c". */
extern const char stage_file[];

#endif
