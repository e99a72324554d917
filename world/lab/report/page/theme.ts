/** Colours of the plots, as the style sheet defines them for light and dark. */
export interface Theme {
  readonly text: string;
  readonly grid: string;
  readonly quiet: string;
  /** The colour of the policy or pool at that place. */
  readonly line: (at: number) => string;
  /** The same, for the area of a band. */
  readonly band: (at: number) => string;
}

const LINES = 6;
const BAND_OPACITY = '22';

export function themeOf(root: Element): Theme {
  const style = getComputedStyle(root);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  const line = (at: number): string => value(`--line-${at % LINES}`);
  return { text: value('--muted'), grid: value('--grid'), quiet: value('--quiet'), line, band: (at) => `${line(at)}${BAND_OPACITY}` };
}
