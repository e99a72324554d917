import type { Labels } from '../../domain/labels.ts';
import type { Tags } from './tags.ts';

/** The part of a scale set, or of one size of a VMs pool, from which a template is made. */
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
    /** Azure's placement of an ephemeral disk. If absent, the size's first placement. */
    readonly placement?: string;
  };
  /** The name of its instances' subnet, if known. */
  readonly subnet?: string;
  /** Labels that follow from the scale set's model. */
  readonly modelLabels?: Labels;
}
