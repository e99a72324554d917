/** What the page uses of the browser, and the only place that reads its clock, its timers and its storage. */

/** Milliseconds since the epoch by this machine's clock. */
export function localNow(): number {
  return Date.now();
}

/** @returns a function that cancels it. */
export function after(ms: number, action: () => void): () => void {
  const id = setTimeout(action, ms);
  return () => clearTimeout(id);
}

export function every(ms: number, action: () => void): () => void {
  const id = setInterval(action, ms);
  return () => clearInterval(id);
}

const TOKEN = 'aks-autoscaler-token';

/** The token of `http.debugTokenFile`, as long as this tab is open. */
export function storedToken(): string | undefined {
  try {
    return sessionStorage.getItem(TOKEN) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeToken(token: string): void {
  try {
    sessionStorage.setItem(TOKEN, token);
  } catch {
    // Storage is off: the token is asked for again.
  }
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** One parameter of the address, such as `range`. */
export function parameter(name: string): string | undefined {
  return new URLSearchParams(location.search).get(name) ?? undefined;
}

/** Without a new entry in the history of the tab. undefined removes it. */
export function setParameter(name: string, value: string | undefined): void {
  const url = new URL(location.href);
  if (value === undefined || value === '') url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  history.replaceState(null, '', url);
}

/** Calls back when the tab is hidden or shown. */
export function onVisibility(listener: (visible: boolean) => void): () => void {
  const changed = (): void => listener(document.visibilityState === 'visible');
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
}
