/** Branded strings, so that one kind of id cannot be passed for another. */
declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The name that users see: a scale set's name, or `<agent pool>/<vm size>`. */
export type NodeGroupId = Branded<'NodeGroupId'>;
/** Folded key of one cloud instance: `subscription|group|kind|set|instance`, all lower case. The only form to compare. */
export type InstanceKey = Branded<'InstanceKey'>;
export type NodeName = string;
export type PodUid = string;

export function nodeGroupId(text: string): NodeGroupId {
  return text as NodeGroupId;
}

export function instanceKey(text: string): InstanceKey {
  return text as InstanceKey;
}

/** `namespace/name`, the usual notation. A pod that exists in plans alone may have no namespace. */
export function podName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
