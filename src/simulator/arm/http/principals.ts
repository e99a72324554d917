/** Who acts in the emulated Azure beside the clients under observation. Their deeds are real, and nobody is blamed for them. */
import type { Principal } from './messages.ts';

/** A person in the portal, another autoscaler, or the platform itself. */
export const FOREIGN_WRITER: Principal = { clientId: 'foreign-writer', foreign: true };

/** The AKS resource provider, when it acts on scale sets. */
export const AKS_PRINCIPAL: Principal = { clientId: 'aks-resource-provider', foreign: true };
