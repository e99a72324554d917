import { describeDeaths } from './deaths.ts';

describeDeaths(['flexible', 'flexible-scarce'], 2);
