/**
 * The file that a recording goes to: a new one, or one that an earlier process was writing. The secret of hashed names stands beside it
 * until the recording ends, and is then deleted.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { configError } from '../../../src/lib/errors.ts';
import { readRecording } from '../../lab/loads/recording-file.ts';
import { type KnownRecording, knownRecording } from '../../lab/recordings/known-recording.ts';
import { NameHasher } from '../../lab/recordings/name-hasher.ts';
import { RecordingLog } from '../../lab/recordings/recording-log.ts';

interface TargetOptions {
  readonly path: string;
  readonly name: string;
  readonly currency: string;
  readonly hashNames: boolean;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** The recording cannot go on with a file. Default: it may. */
  readonly isNew?: boolean;
}

interface RecordingTarget {
  readonly log: RecordingLog;
  /** Of the recording, which may have begun in an earlier process. */
  readonly startMs: number;
  readonly hasher: NameHasher | undefined;
  /** What the file holds already. Absent for a new file. */
  readonly known: KnownRecording | undefined;
  /** After the recording has ended. */
  readonly deleteSecret: () => Promise<void>;
  /** For a recording that did not begin: removes a new file. */
  readonly discard: () => Promise<void>;
}

const SECRET_BYTES = 32;

/** @throws AutoscalerError with one sentence if the file cannot be used. */
export async function openTarget(options: TargetOptions): Promise<RecordingTarget> {
  const { path, hashNames } = options;
  const secretPath = `${path}.secret`;
  const deleteSecret = (): Promise<void> => rm(secretPath, { force: true });
  if (existsSync(path) && options.isNew !== true) {
    const known = await readKnown(path);
    const hasher = await continuedHasher(secretPath, options);
    const { name, startMs, currency } = known;
    const log = await RecordingLog.continue(path, { name, startMs, currency });
    return { log, startMs, hasher, known, deleteSecret, discard: () => Promise.resolve() };
  }
  const { name, currency, startMs } = options;
  const log = await RecordingLog.create(path, { name, startMs, currency });
  const hasher = hashNames ? await newHasher(secretPath) : undefined;
  const discard = async (): Promise<void> => {
    await Promise.all([rm(path, { force: true }), deleteSecret()]);
  };
  return { log, startMs, hasher, known: undefined, deleteSecret, discard };
}

async function readKnown(path: string): Promise<KnownRecording> {
  const { scenario, isComplete } = await readRecording(path);
  if (isComplete) throw configError(`${path} holds a recording that has ended; name another file.`);
  return knownRecording(scenario);
}

async function newHasher(secretPath: string): Promise<NameHasher> {
  const secret = randomBytes(SECRET_BYTES).toString('hex');
  await writeFile(secretPath, secret, { mode: 0o600 });
  return new NameHasher(secret);
}

async function continuedHasher(secretPath: string, { path, hashNames }: TargetOptions): Promise<NameHasher | undefined> {
  const isHashed = existsSync(secretPath);
  if (isHashed && !hashNames) throw configError(`${path} has hashed names; to go on with it, add --hash-names.`);
  if (!isHashed && hashNames)
    throw configError(
      `${path} has readable names, or the secret of its hashes (${secretPath}) is gone; name another file, or omit --hash-names.`,
    );
  return isHashed ? new NameHasher(await readFile(secretPath, 'utf8')) : undefined;
}
