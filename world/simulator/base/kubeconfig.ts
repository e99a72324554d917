/** The kubeconfig of an API server of this world, as `az aks get-credentials` writes it. */
interface KubeconfigInput {
  /** The name of the cluster and of the context. */
  readonly name: string;
  readonly server: string;
  readonly caPem: string;
  readonly token: string;
}

/** JSON, which is also YAML, with the CA and the token inline. */
export function kubeconfig({ name, server, caPem, token }: KubeconfigInput): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name: `${name}-user`, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: `${name}-user`, namespace: 'default' } }],
    'current-context': name,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
