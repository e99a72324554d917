/**
 * Pods and their shapes as dumps have them: flat, and without what is as usual. Earlier versions wrote the same. Must not know where in a
 * dump they are.
 */
import { NO_ANNOTATIONS, type PodAnnotations, PROTECTED, type Protection } from '../../domain/annotations.ts';
import {
  NO_MOUNTS,
  NO_REQUIREMENTS,
  USUAL_STATUS,
  type Controller,
  type Pod,
  type PodMounts,
  type PodShape,
  type RareStatus,
} from '../../domain/pod.ts';
import { NO_VOLUME_RULES, type VolumeRules } from '../../domain/volumes.ts';
import { withoutDefaults } from '../../lib/json.ts';

type Plain = Omit<Pod, 'annotations' | 'mounts' | 'status' | 'origin' | 'controller'> & {
  readonly controller: (Omit<Controller, 'apiVersion'> & Partial<Controller>) | undefined;
};
type Rare = Omit<PodAnnotations, 'protection'> & Protection & PodMounts & RareStatus;

/** `doNotDisrupt`: whether an annotation protects it. */
export type StoredPod = Plain & Partial<Rare> & { readonly doNotDisrupt: boolean };

export type StoredShape = Pick<PodShape, 'key' | 'namespace' | 'requests'> &
  Partial<Omit<PodShape, 'volumes'>> & { readonly volumes?: Partial<VolumeRules> };

/** A dump has pods of the cluster only. */
export function storedPod({ annotations, mounts, status, origin: _origin, ...pod }: Pod): StoredPod {
  const { protection, ...others } = withoutDefaults(annotations, NO_ANNOTATIONS);
  return {
    ...pod,
    doNotDisrupt: protection !== undefined,
    ...withoutDefaults(protection ?? PROTECTED, PROTECTED),
    ...others,
    ...withoutDefaults(mounts, NO_MOUNTS),
    ...withoutDefaults(status, USUAL_STATUS),
  };
}

export function totalPod({ doNotDisrupt, ...stored }: StoredPod): Pod {
  const protection = doNotDisrupt ? partOf(stored, PROTECTED) : undefined;
  return {
    ...withoutRare(stored),
    controller: stored.controller && { apiVersion: '', ...stored.controller },
    origin: 'cluster',
    annotations: { ...partOf(stored, NO_ANNOTATIONS), protection },
    mounts: partOf(stored, NO_MOUNTS),
    status: partOf(stored, USUAL_STATUS),
  };
}

function withoutRare<Stored extends object>(stored: Stored): Omit<Stored, keyof Rare> {
  return Object.fromEntries(Object.entries(stored).filter(([key]) => !RARE.has(key))) as Omit<Stored, keyof Rare>;
}

const RARE: ReadonlySet<string> = new Set([PROTECTED, NO_ANNOTATIONS, NO_MOUNTS, USUAL_STATUS].flatMap(Object.keys));

/** What is said of these, and what is usual of the others. */
function partOf<Part extends object>(stored: Partial<Part>, usual: Part): Part {
  const said = Object.entries(stored).filter(([key]) => Object.hasOwn(usual, key));
  return { ...usual, ...(Object.fromEntries(said) as Partial<Part>) };
}

export function storedShape(shape: PodShape): object {
  return withoutDefaults(shape, NO_REQUIREMENTS);
}

/** The drivers of volumes may be left out, too. */
export function totalShape(stored: StoredShape): PodShape {
  return { ...NO_REQUIREMENTS, ...stored, volumes: { ...NO_VOLUME_RULES, ...stored.volumes } };
}
