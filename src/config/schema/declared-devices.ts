/** Devices that new nodes of a pool have, as a user declares them for a pool that has no node yet. */
import * as z from 'zod';
import { DECLARED_FORM, readDeclaredDevices } from '../../domain/declared-devices.ts';
import type { DevicePool } from '../../domain/devices.ts';

export const declaredDevices = z
  .array(z.unknown(), { error: `a list of ${DECLARED_FORM}` })
  .transform((written, context): readonly DevicePool[] => {
    const read = readDeclaredDevices(written);
    if (read.ok) return read.pools;
    context.addIssue({ code: 'custom', message: `a list of ${DECLARED_FORM} (${read.problem})` });
    return z.NEVER;
  });
