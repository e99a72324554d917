/** The tables of devices, classes and claims, and what fills them. A cluster may not know these kinds: then nobody has devices. */
import type { ObjectJson } from './api-json.ts';
import type { Claiming } from './device-shapes.ts';
import { KnownDevices } from './known-devices.ts';
import { projectClaimTemplate, projectDeviceClass, projectResourceClaim, projectSlice } from './project-devices.ts';
import type { Source } from './source.ts';
import { Table } from './table.ts';

const API = '/apis/resource.k8s.io/v1';
const nameOf = ({ metadata }: ObjectJson): string => metadata?.name ?? '';
const placeOf = ({ metadata }: ObjectJson): string => `${metadata?.namespace ?? 'default'}/${metadata?.name ?? ''}`;

/** Owns the tables and what is made of them. */
export class WatchedDevices {
  readonly #slices = new Table({ keyOf: nameOf, project: (object) => projectSlice(object) });
  readonly #classes = new Table({ keyOf: nameOf, project: (object) => projectDeviceClass(object) });
  readonly #claims = new Table({ keyOf: placeOf, project: (object) => projectResourceClaim(object) });
  readonly #templates = new Table({ keyOf: placeOf, project: (object) => projectClaimTemplate(object) });
  readonly #known = new KnownDevices({
    slices: this.#slices.items,
    classes: this.#classes.items,
    claims: this.#claims.items,
    templates: this.#templates.items,
  });

  sources(): readonly Source[] {
    const kind = { onlyFor: 'devices', mayBeAbsent: true } as const;
    return [
      { resource: 'resourceslices', path: `${API}/resourceslices`, table: this.#slices, ...kind },
      { resource: 'deviceclasses', path: `${API}/deviceclasses`, table: this.#classes, ...kind },
      { resource: 'resourceclaims', path: `${API}/resourceclaims`, table: this.#claims, ...kind },
      { resource: 'resourceclaimtemplates', path: `${API}/resourceclaimtemplates`, table: this.#templates, ...kind },
    ];
  }

  /** `trouble`: why pods with device claims cannot be judged now; undefined: they can. */
  resolve<View extends Claiming>(view: View, trouble: string | undefined): View {
    const changed = [this.#slices, this.#classes, this.#claims, this.#templates].filter((table) => table.takeChanged());
    if (changed.length > 0) this.#known.changed();
    this.#known.setTrouble(trouble);
    return this.#known.resolve(view);
  }
}
