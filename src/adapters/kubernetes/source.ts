import type { ReflectedTable } from './reflector-options.ts';

/** A resource that is watched, and the table that it fills. */
export interface Source {
  readonly resource: string;
  readonly path: string;
  readonly table: ReflectedTable;
  /**
   * Only pods with volumes, or those whose volumes are made only where their driver has room, or those with device claims, need it:
   * without it they wait, and nothing else does.
   */
  readonly onlyFor?: 'volumes' | 'room' | 'devices';
  readonly mayBeAbsent?: true;
}
