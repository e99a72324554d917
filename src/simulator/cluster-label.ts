/** AKS's rule for the label of the cluster: parentheses become dashes, 63 characters are left, and the last is one that may be. */
export function clusterLabel(nodeResourceGroup: string): string {
  const name = nodeResourceGroup.replace(/[()]/g, '-').substring(0, 63);
  const isBadEnd = ['-', '_', '.'].some((end) => name.endsWith(end));
  return isBadEnd ? (name.length > 62 ? name.substring(0, 62) : name).concat('z') : name;
}
