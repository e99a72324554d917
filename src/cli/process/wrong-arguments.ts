/** What the parser of arguments says about wrong ones, as one sentence. */
import { type AutoscalerError, configError } from '../../lib/errors.ts';

/** @param cause what `parseArgs` threw. */
export function wrongArguments(cause: unknown, command: string): AutoscalerError {
  const message = (cause instanceof Error ? cause.message : String(cause)).split(/\. |\n/)[0] ?? '';
  return configError(`${message.replace(/\.$/, '')}; see ${command} --help.`);
}
