/** Objects of the cluster, as far as scenarios look at them. */
import type { KubeObject } from '../../world/simulator/real-control-plane/api-client.ts';

export interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase?: string; readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export interface Node extends KubeObject {
  readonly spec: {
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
}

export interface Event extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly source: { readonly component?: string };
}
