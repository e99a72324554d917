import type { ReflectedTable } from './reflector-options.ts';

/** A resource that is watched, and the table that it fills. */
export interface Source {
  readonly resource: string;
  readonly path: string;
  readonly table: ReflectedTable;
  /** Only pods with volumes, or with device claims, need it: without it they wait, and nothing else does. */
  readonly onlyFor?: 'volumes' | 'devices';
  readonly mayBeAbsent?: true;
}
