/** The installation as a script for `sh`. Must not know how its parts are found. */
import type { Installation, InstallationStep } from './installation.ts';

/** A script that a person reads, edits and runs: first for a dry run, then, with the argument `write`, to let the daemon write. */
export function scriptOf({ values, steps }: Installation): string {
  const blocks = (of: readonly InstallationStep[]): string =>
    of.map(({ title, commands }, index) => `# ${index + 1}. ${onOneLine(title)}\n${commands.join('\n')}\n`).join('\n');
  return `#!/bin/sh
# Read it first, and set IMAGE to the repository of the image. "sh install.sh" installs a dry run and changes no pool. After you have read
# what it would do, "sh install.sh write" hands the pools over and lets it write.
set -eu

if [ "\${1:-}" != write ]; then

# The chart's values
cat > values.yaml <<'VALUES'
${values}VALUES

${blocks(steps.filter(({ toWrite }) => toWrite !== true))}
exit 0
fi

${blocks(steps.filter(({ toWrite }) => toWrite === true))}`;
}

/** The rest of a comment ends with its line. */
function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
