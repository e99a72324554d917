/** The custom roles as files and as a table of the manual. */
import { AZURE_ROLES, roleDefinition } from '../src/tools/doctor/azure-roles.ts';
import type { Json } from './notation.ts';

/** The reader fills it in, everywhere in the file. */
const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';

/** The definitions for `az role definition create`, by role. */
export function roleFiles(): readonly { readonly key: string; readonly definition: Json }[] {
  return AZURE_ROLES.map((role) => ({ key: role.key, definition: roleDefinition(role, SUBSCRIPTION) }));
}

/** A table for the installation guide. */
export function rolesTable(): string {
  const rows = AZURE_ROLES.flatMap(({ key, actions }) => actions.map(({ action, why }) => `| ${key} | \`${action}\` | ${why} |\n`));
  return `| Role | Action | What for |\n| --- | --- | --- |\n${rows.join('')}`;
}
