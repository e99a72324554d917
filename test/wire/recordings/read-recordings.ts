/** Reads every recording below a folder. A file that cannot be read is reported beside the others. Must not know what the traffic means. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareText } from '../../../src/lib/comparison.ts';
import { scrubbedHeaders, type BrokenRecording, type Interaction } from './interaction.ts';
import { readRecording, type RawExchange } from './recording-forms.ts';

export interface Recordings {
  readonly interactions: readonly Interaction[];
  readonly broken: readonly BrokenRecording[];
  /** Files with at least one interaction. */
  readonly files: number;
}

/** The first line of a file that stands for one in Git's store of large files. */
const LARGE_FILE_POINTER = 'version https://git-lfs.github.com/spec/';

/** @throws Error if the folder cannot be listed. */
export function readRecordings(folder: string): Recordings {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:ya?ml|json)$/i.test(name));
  const read = names.toSorted(compareText).map((file) => readFile(folder, file));
  return {
    interactions: read.flatMap((each) => each.interactions),
    broken: read.flatMap((each) => each.broken),
    files: read.filter((each) => each.interactions.length > 0).length,
  };
}

function readFile(folder: string, file: string): Omit<Recordings, 'files'> {
  const wrong = (reason: string): Omit<Recordings, 'files'> => ({ interactions: [], broken: [{ file, index: undefined, reason }] });
  try {
    const text = readFileSync(join(folder, file), 'utf8');
    if (text.startsWith(LARGE_FILE_POINTER)) return wrong('it is a pointer to a large file that was not fetched');
    const recording = readRecording(text, /\.json$/i.test(file));
    if (recording === undefined) return wrong('it holds no recorded traffic');
    const read = recording.entries.map((entry, index) => ({ entry, index }));
    const exchanges = read.flatMap(({ entry, index }) => (entry instanceof Error ? [] : [{ entry, index }]));
    const scrubbed = scrubbedHeaders(
      recording.form,
      exchanges.map(({ entry }) => entry.headers),
    );
    return {
      interactions: exchanges.map(({ entry, index }) => ({ ...entry, file, index, form: recording.form, dateMs: dateOf(entry), scrubbed })),
      broken: read.flatMap(({ entry, index }) => (entry instanceof Error ? [{ file, index, reason: entry.message }] : [])),
    };
  } catch (thrown) {
    return wrong(thrown instanceof Error ? firstLine(thrown.message) : String(thrown));
  }
}

function dateOf({ headers }: RawExchange): number | undefined {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? undefined : date;
}

/** Parsers quote the file in their further lines. */
function firstLine(message: string): string {
  return message.split('\n')[0] ?? '';
}
