/** Runs the command that the command line names and returns its exit code. An error becomes one sentence, never a stack trace. */
import { VERSION } from '../lib/version.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { asAutoscalerError, configError } from '../lib/errors.ts';
import { visibleText } from '../lib/shown-text.ts';
import { EXIT_CONFIG, EXIT_FAILED, EXIT_OK, type Terminal } from './process/process.ts';

type RunCommand = (argv: readonly string[], terminal: Terminal) => Promise<number>;

interface Command {
  readonly help: string;
  readonly run: RunCommand;
}

/** Each command is loaded on first use: the daemon starts sooner, and its image does not contain the simulator. */
const COMMANDS: Readonly<Record<string, Command>> = {
  run: { help: 'Run the autoscaler until SIGTERM', run: async (argv, terminal) => (await import('./run-command.ts')).run(argv, terminal) },
  demo: {
    help: 'Watch the autoscaler work in a simulated AKS cluster',
    run: async (argv, { env }) => (await fromSource('demo', () => import('../../world/commands/demo/demo-command.ts'))).run(argv, env),
  },
  emulate: {
    help: 'Run the simulated AKS cluster alone',
    run: async (argv, terminal) =>
      (await fromSource('emulate', () => import('../../world/commands/emulate/emulate-command.ts'))).run(argv, terminal),
  },
  lab: {
    help: 'Compare policies in a simulated AKS cluster, over days in virtual time',
    run: async (argv, terminal) => {
      const program = async () => (await import('../../world/commands/lab/lab-program.ts')).POLICY_DAEMON;
      return (await fromSource('lab', () => import('../../world/commands/lab/lab-command.ts'))).run(argv, terminal, { program });
    },
  },
  plan: {
    help: 'Show what the autoscaler would do in a real or recorded cluster, and why',
    run: async (argv, terminal) => (await import('../tools/plan/plan-command.ts')).run(argv, terminal),
  },
  explain: {
    help: 'Explain why a pod is pending, a node stays, or a pool does not grow',
    run: async (argv, terminal) => (await import('../tools/explain/explain-command.ts')).run(argv, terminal),
  },
  pause: {
    help: 'Keep the autoscaler from changing a pool, or every pool, for a while',
    run: async (argv, terminal) => (await import('../tools/pause/pause-command.ts')).run(argv, terminal),
  },
  resume: {
    help: 'End a pause before its time',
    run: async (argv, terminal) => (await import('../tools/pause/resume-command.ts')).run(argv, terminal),
  },
  report: {
    help: 'Compare what a dry run would have done with what the AKS autoscaler did',
    run: async (argv, terminal) => (await import('../tools/report/report-command.ts')).run(argv, terminal),
  },
  init: {
    help: 'Print values, roles and commands for an installation in a cluster',
    run: async (argv, terminal) => (await import('../tools/init/init-command.ts')).run(argv, terminal),
  },
  doctor: {
    help: 'Check whether the autoscaler can work here, and print a fix for each problem',
    run: async (argv, terminal) => (await import('../tools/doctor/doctor-command.ts')).run(argv, terminal),
  },
  record: {
    help: 'Record the load of a cluster: which pods are wanted when, and the pools',
    run: async (argv, terminal) => (await import('../../world/commands/record/record-command.ts')).run(argv, terminal),
  },
  replay: {
    help: 'Repeat a recorded decision and compare the result',
    run: async (argv, terminal) => (await import('../tools/plan/from-dump.ts')).run(argv, terminal),
  },
  help: { help: 'Show this text', run: showHelp },
  version: { help: 'Show the version', run: showVersion },
};

/** The command in the manifests of the Cluster Autoscaler. Its arguments are those of `run`. */
const CLUSTER_AUTOSCALER = /^(?:.*\/)?cluster-autoscaler$/;

/** The `args` of an existing Deployment replace the image's `run`, so flags without a command mean `run`. */
function asCommand(argv: readonly string[]): readonly string[] {
  const [first = 'help', ...rest] = argv;
  if (CLUSTER_AUTOSCALER.test(first)) return ['run', ...rest];
  if (first === '--help' || first === '-h') return ['help', ...rest];
  if (first === '--version') return ['version', ...rest];
  return first.startsWith('-') ? ['run', ...argv] : [first, ...rest];
}

/** @returns the exit code: 0 success, 1 failure, 2 wrong use or configuration. */
export async function dispatch(argv: readonly string[], given: Terminal): Promise<number> {
  const terminal = withVisibleText(given);
  const [name = 'help', ...rest] = asCommand(argv);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    const nearest = nearestName(name, Object.keys(COMMANDS));
    const hint = nearest === undefined ? `the commands are ${Object.keys(COMMANDS).join(', ')}.` : `did you mean ${nearest}?`;
    terminal.err(`"${name}" is not a command; ${hint}\n`);
    return EXIT_CONFIG;
  }
  try {
    return await command.run(rest, terminal);
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    terminal.err(`${error.message.split('\n')[0] ?? ''}\n`);
    return error.kind === 'config' ? EXIT_CONFIG : EXIT_FAILED;
  }
}

/** Texts of clusters and of Azure cannot command the terminal, whatever a command prints of them. */
function withVisibleText(terminal: Terminal): Terminal {
  // guard: text of a cluster cannot command the terminal
  return { ...terminal, out: (text) => terminal.out(visibleText(text)), err: (text) => terminal.err(visibleText(text)) };
}

/** Loads a command that needs the simulator. @throws AutoscalerError `config` if the bundle does not contain it. */
async function fromSource<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    const absent = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND';
    if (!absent || !cause.message.includes(`${name}-command.ts`)) throw cause;
    throw configError(`"${name}" needs the simulator, which this build does not contain; run it from the source: npm run cli -- ${name}.`, {
      cause,
    });
  }
}

function showHelp(_argv: readonly string[], terminal: Terminal): Promise<number> {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { help }]) => `  ${name.padEnd(width)}  ${help}\n`);
  terminal.out(
    `aks-autoscaler: a node autoscaler for Kubernetes on Azure (AKS)\n\nUsage: aks-autoscaler COMMAND [OPTIONS]\n\n${lines.join('')}\nCOMMAND --help shows the options of a command.\n`,
  );
  return Promise.resolve(EXIT_OK);
}

function showVersion(_argv: readonly string[], terminal: Terminal): Promise<number> {
  terminal.out(`${VERSION}\n`);
  return Promise.resolve(EXIT_OK);
}
