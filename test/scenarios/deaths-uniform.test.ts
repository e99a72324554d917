import { describeDeaths } from './deaths.ts';

describeDeaths(['uniform', 'uniform-scarce']);
