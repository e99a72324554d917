/** The version of this program, as in package.json and the chart; a test compares them. */
export const VERSION = '0.1.0';
