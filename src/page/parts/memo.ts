/** Components that are drawn again only if one of their properties is another value. */
import { type ComponentChild, type FunctionComponent, h } from 'preact';

/** As of preact/compat, which the page does without for its size. */
export function memo<Props extends object>(component: (props: Props) => ComponentChild): FunctionComponent<Props> {
  function Memo(this: { shouldComponentUpdate?: (next: Props) => boolean; readonly props: Props }, props: Props) {
    this.shouldComponentUpdate = (next) => !hasSameValues(this.props, next);
    return h(component as FunctionComponent<Props>, props);
  }
  return Memo as FunctionComponent<Props>;
}

function hasSameValues(one: object, other: object): boolean {
  const entries = Object.entries(one);
  return entries.length === Object.keys(other).length && entries.every(([key, value]) => Object.is(value, (other as never)[key]));
}
