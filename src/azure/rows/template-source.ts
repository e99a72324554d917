import type { Labels } from '../../domain/labels.ts';
import type { Tags } from './tags.ts';

/** The part of a scale set, or of one size of a VMs pool, that a template is made from. */
export interface TemplateSource {
  readonly vmSize: string;
  readonly location: string;
  readonly zones: readonly string[];
  readonly tags: Tags;
  readonly priority: 'Regular' | 'Spot';
  readonly os: 'linux' | 'windows';
  readonly osDisk: {
    readonly ephemeral: boolean;
    readonly tier: string | undefined;
    readonly sizeGb: number | undefined;
    /** Where an ephemeral one is, in Azure's word. Absent: in the first place that the size has. */
    readonly place?: string;
  };
  /** The name of the subnet of its machines; absent: not known. */
  readonly subnet?: string;
  /** Labels that follow from the model of its machines. Absent: none. */
  readonly modelLabels?: Labels;
}
