import { describeDeaths } from './deaths.ts';

describeDeaths(['vms-pool', 'vms-pool-scarce']);
