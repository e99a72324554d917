/** Which texts of other systems are shown, and how much of them. */
import { describe, expect, it } from 'vitest';
import { MAX_SHOWN_BYTES, shownText } from '../../src/lib/shown-text.ts';

const TOKEN = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;

describe('a text from elsewhere', () => {
  it.each([
    ['a token', `refused ${TOKEN}.`],
    ['a header', 'Authorization: Bearer abc.def-123=='],
    ['a query', 'https://x.blob/y?sv=1&sig=Zm9vYmFy%3D&se=2'],
    ['a form', 'client_id=1&client_secret=hunter2&scope=x'],
    ['JSON', '{"access_token":"hunter2","expires_in":3}'],
    ['JSON in JSON', String.raw`{"message":"{\"client_secret\":\"hunter2\"}"}`],
    ['a connection string', 'AccountName=x;AccountKey=Zm9vYmFy;'],
  ])('is shown without the credential of %s', (_what, text) => {
    expect(shownText(text)).toContain('[redacted]');
    expect(shownText(text)).not.toMatch(/hunter2|Zm9vYmFy|abc\.def|bbbb/);
  });

  it('is unchanged up to 2 kB, and cut to 2 kB between two characters', () => {
    const whole = 'x'.repeat(MAX_SHOWN_BYTES);
    expect(shownText(whole)).toBe(whole);
    const cut = shownText('€'.repeat(MAX_SHOWN_BYTES));
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(MAX_SHOWN_BYTES);
    expect(cut).toMatch(/^€+…$/);
  });

  it('shows no half of a credential where a very long text is cut', () => {
    const text = `${'password=hunter2 '.repeat(963)}${'eyJhbGciOiJIUzI1NiJ9.'.repeat(2)}${'d'.repeat(1_000_000)}`;
    expect(shownText(text)).not.toMatch(/hunter2|eyJ/);
    expect(shownText('d'.repeat(1_000_000))).toBe('…');
  });
});
