/** The version of the program in tests of campaigns. */
export const PROGRAM = "1.0.0";
