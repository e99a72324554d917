/**
 * Replaces names in a load by hashes, each name by the same hash everywhere: selectors still match, and nothing can be read. Names that
 * Kubernetes and AKS give to nodes themselves stay. Must not know where a load comes from.
 */
import { createHmac } from 'node:crypto';
import type { LoadContainer, LoadPod, LoadPool, Workload } from '../loads/load.ts';
import { mapped, mappedKeys, type Json } from './json-maps.ts';

/** Labels and taints that Kubernetes and AKS set themselves. Their values are sizes, zones and kinds. */
const READABLE =
  /^(?:(?:beta\.)?kubernetes\.io\/(?:arch|os|instance-type)|node\.kubernetes\.io\/(?:instance-type|windows-build|not-ready|unreachable|(?:disk|memory|pid)-pressure|unschedulable|network-unavailable)|(?:topology|failure-domain\.beta)\.kubernetes\.io\/(?:zone|region)|topology\.disk\.csi\.azure\.com\/zone|kubernetes\.azure\.com\/(?:mode|scalesetpriority|os-sku|os-sku-effective|os-sku-requested|storageprofile|storagetier|accelerator|security-type|ebpf-dataplane|sku-[a-z-]+)|accelerator|storageprofile|storagetier|CriticalAddonsOnly|nvidia\.com\/gpu)$/;
/** Keys that stay, with values that are names. */
const READABLE_KEY =
  /^(?:kubernetes\.azure\.com\/(?:agentpool|cluster)|agentpool|kubernetes\.io\/(?:hostname|metadata\.name)|pod-template-hash|controller-revision-hash)$/;
const READABLE_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public', 'kube-node-lease']);
/** What AKS deploys in every cluster. A simulated cluster has some of them already, and finds them by their names. */
const READABLE_WORKLOADS =
  /^kube-system (?:kube-proxy|coredns(?:-autoscaler)?|metrics-server|konnectivity-agent(?:-autoscaler)?|azure-cns|azure-ip-masq-agent|cloud-node-manager|csi-azure(?:disk|file)-node|cilium|cilium-operator)$/;
const READABLE_RESOURCES = /^(?:cpu|memory|ephemeral-storage|pods|hugepages-\w+|attachable-volumes-[\w.-]+|(?:nvidia|amd)\.com\/[\w.-]+)$/;
/** Fields whose value is one label key. */
const KEY_FIELDS: ReadonlySet<string> = new Set(['topologyKey']);
/** Fields whose value is a list of label keys. */
const KEY_LISTS: ReadonlySet<string> = new Set(['matchLabelKeys', 'mismatchLabelKeys']);
/** Characters of the longest name that AKS accepts for a pool; a hash is one. */
const HASH_DIGITS = 11;

export class NameHasher {
  readonly #salt: string;
  readonly #known = new Map<string, string>();

  /** Without the salt, hashes cannot be computed from guessed names. */
  constructor(salt: string) {
    this.#salt = salt;
  }

  workload({ budget, ...workload }: Workload): Workload {
    return {
      ...workload,
      name: READABLE_WORKLOADS.test(`${workload.namespace} ${workload.name}`) ? workload.name : this.#name(workload.name),
      namespace: this.#namespace(workload.namespace),
      pod: this.pod(workload.pod),
      ...(budget === undefined ? {} : { budget }),
    };
  }

  pod(pod: LoadPod): LoadPod {
    const { labels, containers, initContainers, overhead, nodeSelector, affinity, topologySpreadConstraints, tolerations } = pod;
    return {
      ...pod,
      containers: containers.map((container) => this.#container(container)),
      ...(labels === undefined ? {} : { labels: this.#labels(labels) }),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map((container) => this.#container(container)) }),
      ...(overhead === undefined ? {} : { overhead: this.#quantities(overhead) }),
      ...(nodeSelector === undefined ? {} : { nodeSelector: this.#labels(nodeSelector) }),
      ...(affinity === undefined ? {} : { affinity: this.#selectors(affinity) }),
      ...(topologySpreadConstraints === undefined
        ? {}
        : { topologySpreadConstraints: topologySpreadConstraints.map((each) => this.#selectors(each)) }),
      ...(tolerations === undefined ? {} : { tolerations: tolerations.map((each) => this.#requirement(each)) }),
    };
  }

  pool(pool: LoadPool): LoadPool {
    const { labels, taints } = pool;
    return {
      ...pool,
      name: this.poolName(pool.name),
      ...(labels === undefined ? {} : { labels: this.#labels(labels) }),
      ...(taints === undefined ? {} : { taints: taints.map((taint) => this.#taint(taint)) }),
    };
  }

  poolName(name: string): string {
    return this.#name(name);
  }

  #container(container: LoadContainer): LoadContainer {
    return container.requests === undefined ? container : { ...container, requests: this.#quantities(container.requests) };
  }

  #quantities<Amount>(requests: Readonly<Record<string, Amount>>): Readonly<Record<string, Amount>> {
    return mappedKeys(requests, (key) => (READABLE_RESOURCES.test(key) ? key : `${this.#name(key)}.hashed/resource`));
  }

  #labels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(labels).map(([key, value]) => [this.#key(key), this.#value(key, value)]));
  }

  /** Affinity and spread constraints: every selector in them, however deep. */
  #selectors(json: Json): Json {
    return mapped(json, (field, value) => {
      if (field === 'matchLabels') return this.#labels(value as Readonly<Record<string, string>>);
      if (KEY_FIELDS.has(field) && typeof value === 'string') return this.#key(value);
      if (KEY_LISTS.has(field)) return (value as readonly string[]).map((key) => this.#key(key));
      if (field === 'namespaces') return (value as readonly string[]).map((name) => this.#namespace(name));
      if (field === 'matchExpressions') return (value as readonly Json[]).map((each) => this.#requirement(each));
      return undefined;
    });
  }

  /** A requirement of a selector, or a toleration. */
  #requirement(json: Json): Json {
    const { key, value, values } = json as { readonly key?: string; readonly value?: string; readonly values?: readonly string[] };
    return {
      ...json,
      ...(key === undefined ? {} : { key: this.#key(key) }),
      ...(value === undefined ? {} : { value: this.#value(key ?? '', value) }),
      ...(values === undefined ? {} : { values: values.map((each) => this.#value(key ?? '', each)) }),
    };
  }

  /** `key=value:Effect` or `key:Effect`. */
  #taint(taint: string): string {
    const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(taint) ?? [];
    return `${this.#key(key)}${value === undefined ? '' : `=${this.#value(key, value)}`}:${effect}`;
  }

  #key(key: string): string {
    return key === '' || READABLE.test(key) || READABLE_KEY.test(key) ? key : this.#name(key);
  }

  #value(key: string, value: string): string {
    if (value === '' || READABLE.test(key)) return value;
    return key === 'kubernetes.io/metadata.name' ? this.#namespace(value) : this.#name(value);
  }

  #namespace(name: string): string {
    return READABLE_NAMESPACES.has(name) ? name : this.#name(name);
  }

  #name(name: string): string {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const hash = `h${createHmac('sha256', this.#salt).update(name).digest('hex').slice(0, HASH_DIGITS)}`;
    this.#known.set(name, hash);
    return hash;
  }
}
