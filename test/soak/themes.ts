/** Short runs that each attack one guard of the daemon without pause, where the random ones come to every guard now and then. */
import { LIST_THEMES } from './themes/list-themes.ts';
import { POD_THEMES } from './themes/pod-themes.ts';
import { WRITE_THEMES } from './themes/write-themes.ts';

export const THEMES = { ...WRITE_THEMES, ...LIST_THEMES, ...POD_THEMES };

export type ThemeName = keyof typeof THEMES;
