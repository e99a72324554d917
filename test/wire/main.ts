/** `npm run wire -- --recordings DIR`: holds recordings of the real Azure against the daemon and the world. */
import { wireCommand } from './command.ts';

const { code, out, err } = await wireCommand(process.argv.slice(2));
process.stdout.write(out);
process.stderr.write(err);
process.exitCode = code;
