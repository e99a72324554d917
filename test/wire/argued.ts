/**
 * Differences that are meant: by route and by what differs, `*` standing for any characters. Each has a reason and the day it was argued.
 * Nothing that was recorded stands here.
 */
import type { ArguedDifference } from './finding.ts';

export const ARGUED: readonly ArguedDifference[] = [];
