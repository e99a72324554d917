/**
 * The writers in the emulated Azure beside the client under test. Their changes are real, and the write-safety rules do not apply
 * to them.
 */
import type { Principal } from './messages.ts';

/** A person in the portal, another autoscaler, or the platform itself. */
export const FOREIGN_WRITER: Principal = { clientId: 'foreign-writer', foreign: true };

/** The AKS resource provider when it writes to scale sets. */
export const AKS_PRINCIPAL: Principal = { clientId: 'aks-resource-provider', foreign: true };
