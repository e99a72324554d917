/**
 * The one import of the client package's code, in a file of its own: who needs it loads this file, and the bundle holds
 * only what it names instead of every API of Kubernetes.
 */
export { KubeConfig } from '@kubernetes/client-node';
