/** The options of commands that also take the settings of the daemon. Must not know which options a command has. */
type OwnOptions = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

interface SplitArguments {
  /** Options of the command with their values, and names. */
  readonly own: readonly string[];
  readonly settings: readonly string[];
}

/**
 * Separates the options of a command from the settings of the daemon. `--config` is a setting. What follows a setting without `=` is its
 * value.
 */
export function splitSettings(argv: readonly string[], options: OwnOptions): SplitArguments {
  const own: string[] = [];
  const settings: string[] = [];
  /** Where the value of the option before belongs. */
  let valueOf: string[] | undefined;
  for (const text of argv) {
    const [, name, value] = /^--([^=]+)(=.*)?$/s.exec(text) ?? [];
    const isOwn = name === undefined || (name !== 'config' && Object.hasOwn(options, name));
    const target = (name === undefined || valueOf === own ? valueOf : undefined) ?? (isOwn ? own : settings);
    target.push(text);
    const takesValue = name !== undefined && valueOf !== own && value === undefined && (!isOwn || options[name]?.type === 'string');
    valueOf = takesValue ? target : undefined;
  }
  return { own, settings };
}
