/**
 * What a list of instances costs beside single reads of them, as shares of Azure's limits for the whole subscription. A list of a scale set
 * is one of 1,080 lists and shows as many of 30,000 views as it has instances; a single read is one of 6,000 and one view (recorded by
 * azure-powershell, November 2025). A list of virtual machines is one of 900, a read of one is one of 24,000 (Microsoft Learn, "Compute
 * throttling limits"). Pure.
 * Idea: want.
 */

/** Calls at once, of all clients of the subscription together. */
const OF_INSTANCES = { lists: 1_080, views: 30_000, singles: 6_000 };
const OF_VMS = { lists: 900, singles: 24_000 };

/** How many single reads cost as much as one list of a scale set with so many instances. */
export function singleReadsPerInstanceList(instances: number): number {
  const { lists, views, singles } = OF_INSTANCES;
  return Math.floor(singles * Math.max(1 / lists, instances / views));
}

/** How many single reads cost as much as one list of virtual machines, whose number does not count. */
export function singleReadsPerVmList(): number {
  return Math.floor(OF_VMS.singles / OF_VMS.lists);
}
