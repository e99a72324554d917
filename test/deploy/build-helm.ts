/** `npm run helm`: builds Helm for the tests of the chart, where it can; says in one line what came of it. Always content. */
import { buildHelm } from './helm.ts';

const { sentence } = await buildHelm(process.env);
process.stdout.write(`helm: ${sentence}\n`);
