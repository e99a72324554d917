/** Programs that run inside the page, as text: the types of a browser and of Node do not go together in one program. */

/** Texts whose contrast with their background is below 4.5 to 1. */
export const LOW_CONTRASTS = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([red = 0, green = 0, blue = 0]) => {
    const [r = 0, g = 0, b = 0] = [red, green, blue].map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backgroundOf = (start) => {
    for (let at = start; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || (color[3] ?? 0) > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll('main *, header *, .act *, footer *')) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent ?? '').join('').trim();
    const style = getComputedStyle(element);
    if (text === '' || element.closest('.vh, svg, option') !== null || style.visibility === 'hidden' || style.display === 'none') continue;
    const [one, other] = [luminance(parse(style.color)), luminance(backgroundOf(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) low.push(text.slice(0, 30) + ': ' + ratio.toFixed(2));
  }
  return [...new Set(low)];
})()`;

/** Buttons that a finger misses. Markers of the chart are close to each other. */
export const SMALL_TARGETS = `(() => {
  return [...document.querySelectorAll('button')]
    .filter((button) => button.getClientRects().length > 0 && !button.classList.contains('mk'))
    .filter((button) => button.getBoundingClientRect().height < 34)
    .map((button) => button.textContent + ': ' + button.getBoundingClientRect().height);
})()`;

/** Elements that are wider than the screen, outside of boxes that scroll by themselves. */
export const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((each) => each.closest('.scroll, .vh, .skip') === null && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((each) => each.tagName + '.' + each.className)`;
