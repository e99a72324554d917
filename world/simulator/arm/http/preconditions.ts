/** `If-Match` and `If-None-Match`, compared verbatim, quotes included. */
import { armError, preconditionFailed } from './errors.ts';
import type { ArmReply, ArmRequest } from './messages.ts';

/** The refusal of a write whose conditions do not hold. If `current` is undefined, the resource does not exist. */
export function refuseByCondition(request: ArmRequest, current: string | undefined): ArmReply | undefined {
  const ifMatch = request.headers['if-match'];
  const ifNoneMatch = request.headers['if-none-match'];
  if (ifMatch !== undefined && ifNoneMatch !== undefined) {
    return armError(400, 'InvalidParameter', 'Only one of the headers If-Match and If-None-Match may be given.');
  }
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*') {
    return armError(400, 'InvalidParameter', 'If-None-Match on a write accepts only *.');
  }
  if (ifNoneMatch === '*' && current !== undefined) {
    return armError(412, 'PreconditionFailed', 'The resource already exists and if-none-match is *.');
  }
  if (ifMatch === undefined) return undefined;
  if (current === undefined) return preconditionFailed(ifMatch, 'of a resource that does not exist');
  return ifMatch === '*' || ifMatch === current ? undefined : preconditionFailed(ifMatch, current);
}
