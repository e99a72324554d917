/** The fields of `resource.k8s.io/v1` that are read, as the API writes them. Every field is optional. */
import type { WrittenPolicy } from '../../domain/devices.ts';
import type { NodeSelectorTermJson, ObjectJson, Quantities, TaintJson, TolerationJson } from './core-json.ts';

/** Which nodes reach devices. */
export interface NodeChoiceJson {
  readonly nodeName?: string;
  readonly nodeSelector?: { readonly nodeSelectorTerms?: readonly NodeSelectorTermJson[] };
  readonly allNodes?: boolean;
}

export interface DeviceJson extends NodeChoiceJson {
  readonly name?: string;
  readonly attributes?: Readonly<
    Record<string, { readonly string?: string; readonly int?: number; readonly bool?: boolean; readonly version?: string }>
  >;
  readonly capacity?: Readonly<Record<string, { readonly value?: string | number; readonly requestPolicy?: WrittenPolicy | null }>>;
  readonly consumesCounters?: readonly { readonly counterSet?: string; readonly counters?: CountersJson }[];
  readonly taints?: readonly TaintJson[];
  readonly bindsToNode?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly allowMultipleAllocations?: boolean;
}

export type CountersJson = Readonly<Record<string, { readonly value?: string | number }>>;

export interface SliceJson extends ObjectJson {
  readonly spec?: NodeChoiceJson & {
    readonly driver?: string;
    readonly pool?: { readonly name?: string; readonly generation?: number; readonly resourceSliceCount?: number };
    readonly perDeviceNodeSelection?: boolean;
    readonly devices?: readonly DeviceJson[];
    readonly sharedCounters?: readonly { readonly name?: string; readonly counters?: CountersJson }[];
  };
}

/** A part that is not given selects every device; without a selector, none is selected. */
export interface DeviceTaintRuleJson extends ObjectJson {
  readonly spec?: {
    readonly deviceSelector?: { readonly driver?: string; readonly pool?: string; readonly device?: string } | null;
    readonly taint?: { readonly key?: string; readonly value?: string; readonly effect?: string };
  };
}

export interface DeviceRequestJson {
  readonly name?: string;
  readonly deviceClassName?: string;
  readonly selectors?: readonly { readonly cel?: { readonly expression?: string } }[];
  readonly allocationMode?: string;
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly TolerationJson[];
  readonly capacity?: { readonly requests?: Quantities };
}

export interface ClaimSpecJson {
  readonly devices?: {
    readonly requests?: readonly {
      readonly name?: string;
      readonly exactly?: DeviceRequestJson;
      readonly firstAvailable?: readonly DeviceRequestJson[];
    }[];
    readonly constraints?: readonly {
      readonly requests?: readonly string[];
      readonly matchAttribute?: string;
      readonly distinctAttribute?: string;
    }[];
  };
}

export interface ResourceClaimJson extends ObjectJson {
  readonly spec?: ClaimSpecJson;
  readonly status?: {
    readonly allocation?: {
      readonly devices?: {
        readonly results?: readonly {
          readonly driver?: string;
          readonly pool?: string;
          readonly device?: string;
          readonly adminAccess?: boolean;
          readonly shareID?: string;
          readonly consumedCapacity?: Quantities;
        }[];
      };
      readonly nodeSelector?: { readonly nodeSelectorTerms?: readonly NodeSelectorTermJson[] };
    };
    readonly reservedFor?: readonly { readonly uid?: string }[];
  };
}

export interface ResourceClaimTemplateJson extends ObjectJson {
  readonly spec?: { readonly spec?: ClaimSpecJson };
}

export interface DeviceClassJson extends ObjectJson {
  readonly spec?: { readonly selectors?: DeviceRequestJson['selectors']; readonly extendedResourceName?: string };
}
