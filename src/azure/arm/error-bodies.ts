/** Reads ARM error bodies: with the `error` wrapper, without it (AKS), nested, or not JSON. Makes no decisions. */
import { shownText } from '../../lib/shown-text.ts';
import { isRecord, textIn } from '../../lib/json.ts';

/** One error object with its inner errors. Every optional field has a value. */
export interface ArmErrorBody {
  /** Empty if the body has no code. */
  readonly code: string;
  /** The whole text, for classification. It is redacted and cut where it is shown. */
  readonly message: string;
  readonly target: string;
  readonly details: readonly ArmErrorBody[];
}

const NO_BODY: ArmErrorBody = { code: '', message: '', target: '', details: [] };
/** Azure nests less deeply; the limit guards against a hostile body. */
const MAX_DEPTH = 6;
/** Azure's longest codes have about 60 characters. */
const MAX_CODE_BYTES = 200;

type Json = Readonly<Record<string, unknown>>;

/** The text as JSON, or undefined. */
export function jsonOf(text: string | null | undefined): unknown {
  try {
    return text === null || text === undefined || text === '' ? undefined : JSON.parse(text);
  } catch {
    // A body that is not JSON is expected: gateways return HTML. The caller then uses the status alone.
    return undefined;
  }
}

/** Accepts the whole response (`{error: {...}}` or `{code, message}`) or the error object itself. */
export function readErrorBody(body: unknown, depth = 0): ArmErrorBody {
  if (!isRecord(body) || depth > MAX_DEPTH) return NO_BODY;
  const field = (name: string): unknown => fieldOf(body, name);
  if (isRecord(field('error'))) return readErrorBody(field('error'), depth + 1);
  const listed = [field('details')].filter(Array.isArray).flat();
  const inner = [field('innererror')].filter(isRecord);
  const details = [...listed, ...inner].map((child) => readErrorBody(child, depth + 1)).filter((child) => child !== NO_BODY);
  return {
    code: shownText(textIn(field('code')) || textIn(field('internalErrorCode')), MAX_CODE_BYTES),
    message: textIn(field('message')) || textIn(field('exceptiondetail')),
    target: shownText(textIn(field('target'))),
    details,
  };
}

/** In any letter case: some services of Azure write `Code` and `Message` (`Microsoft.Insights` does). */
function fieldOf(body: Json, name: string): unknown {
  if (Object.hasOwn(body, name)) return body[name];
  const folded = name.toLowerCase();
  const key = Object.keys(body).find((each) => each.toLowerCase() === folded);
  return key === undefined ? undefined : body[key];
}

/** The error and everything inside it, outermost first. */
export function flatten(body: ArmErrorBody): readonly ArmErrorBody[] {
  return [body, ...body.details.flatMap(flatten)];
}
