/** The kubectl commands against the simulated API server, as a table. A test runs it, and a document is generated from it. */

export interface KubectlRow {
  /** In the order of a session: later rows use the objects of earlier ones. */
  readonly args: readonly string[];
  /** If absent, the command works. */
  readonly refused?: { readonly because: string; readonly says: RegExp };
}

/** The content of `web.json` in the session. */
export const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '100m' } } }] },
    },
  },
};

/** The content of `monitor.json` in the session. */
export const MONITOR = { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata: { name: 'web' }, spec: {} };

const NO_CONTAINERS = 'no containers run';
const PROTOBUF = 'the server does not read this kind in protobuf, which kubectl sends here';

function works(text: string): KubectlRow {
  return { args: text.split(' ') };
}

function refused(text: string, because: string, says: RegExp): KubectlRow {
  return { args: text.split(' '), refused: { because, says } };
}

export const KUBECTL_ROWS: readonly KubectlRow[] = [
  works('version'),
  works('cluster-info'),
  works('api-resources'),
  works('api-versions'),
  works('get --raw /readyz'),
  works('auth can-i create pods'),
  refused('auth whoami', PROTOBUF, /UnsupportedMediaType/),
  works('explain pod.spec.containers'),
  works('apply -f web.json'),
  works('diff -f web.json'),
  works('apply --server-side --force-conflicts -f web.json'),
  works('rollout status deployment/web --timeout=2m'),
  works('rollout history deployment/web'),
  works('rollout restart deployment/web'),
  works('rollout undo deployment/web'),
  works('rollout pause deployment/web'),
  works('rollout resume deployment/web'),
  works('set image deployment/web app=app:2'),
  works('set resources deployment/web --requests=cpu=200m'),
  works('patch deployment web --type=strategic -p {"spec":{"replicas":3}}'),
  works('patch deployment web --type=merge -p {"spec":{"replicas":4}}'),
  works('patch deployment web --type=json -p [{"op":"replace","path":"/spec/replicas","value":2}]'),
  works('scale deployment/web --replicas=3'),
  works('expose deployment web --port=80'),
  works('autoscale deployment web --max=5'),
  works('label deployment web tier=front'),
  works('annotate deployment web note=seen'),
  works('replace -f web.json'),
  works('wait --for=condition=Available deployment/web --timeout=2m'),
  works('get pods -o wide'),
  works('get pods -o yaml'),
  works('get nodes -o custom-columns=NAME:.metadata.name'),
  works('get pods --sort-by=.metadata.name'),
  works('get pods --field-selector=status.phase=Running'),
  works('get pods -l app=web'),
  works('events'),
  works('describe nodes'),
  works('describe deployment web'),
  works('logs deployment/web'),
  refused('exec deployment/web -- true', NO_CONTAINERS, /NotFound|could not find the requested resource/),
  refused('attach deployment/web', NO_CONTAINERS, /NotFound|could not find the requested resource/),
  refused('port-forward deployment/web :80', NO_CONTAINERS, /upgrading connection/),
  refused('top nodes', 'there is no metrics server', /Metrics API not available/),
  refused('top pods', 'there is no metrics server', /Metrics API not available/),
  works('cordon usr-1'),
  works('drain usr-1 --ignore-daemonsets --delete-emptydir-data --timeout=2m'),
  works('uncordon usr-1'),
  works('taint node usr-1 team=data:NoSchedule'),
  works('taint node usr-1 team-'),
  works('create namespace shop'),
  works('create deployment front -n shop --image=app:1 --replicas=2'),
  works('create pdb front -n shop --selector=app=front --min-available=1'),
  works('create configmap settings -n shop --from-literal=a=b'),
  works('create serviceaccount robot -n shop'),
  works('create priorityclass high --value=1000'),
  works('run once --image=app:1'),
  works('create secret generic hidden --from-literal=a=b'),
  works('create job import --image=app:1'),
  works('create role reader --verb=get --resource=pods'),
  works('create rolebinding readers --role=reader --serviceaccount=default:robot'),
  works('apply -k deploy --dry-run=client'),
  works('apply -k deploy --dry-run=server'),
  works('apply -k deploy'),
  works('diff -k deploy'),
  works('rollout status deployment/aks-autoscaler -n kube-system --timeout=2m'),
  works('delete -k deploy --dry-run=server'),
  works('delete -k deploy --timeout=2m'),
  refused(
    'apply -f monitor.json',
    'its definition is not installed, as in a cluster without the Prometheus operator',
    /no matches for kind "ServiceMonitor"/,
  ),
  works('delete -f web.json --timeout=2m'),
  works('delete namespace shop --timeout=2m'),
];

/** `docs/kubectl.md` */
export function kubectlDocument(): string {
  const rows = KUBECTL_ROWS.map(({ args, refused: no }) => {
    const command = `kubectl ${args.join(' ')}`.replaceAll('|', '\\|');
    return `| \`${command}\` | ${no === undefined ? 'yes' : 'no'} | ${no?.because ?? ''} |`;
  });
  return [
    '# kubectl and the simulated API server',
    '',
    '<!-- Generated by `npm run docs`. -->',
    '',
    'To use kubectl with a simulated cluster, start `emulate` and set `KUBECONFIG` as it prints. This is one session, command by command. A test runs it against the API of `emulate`. Refusals have a clear message, and no answer is made up.',
    'Nodes are called `usr-1` here; yours have other names. Unlike a real server, this one stores fields that a kind does not have, and it',
    'stores roles without enforcing them.',
    '',
    '| Command | Works | Why not |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
