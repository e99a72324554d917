/**
 * The only import of the client package's code, in a file of its own. It is loaded only if needed, and the bundle holds
 * only this class instead of every API of Kubernetes.
 */
export { KubeConfig } from '@kubernetes/client-node';
