/** What the Azure adapter is to the program that runs it: the port, and what operators and the next process ask of it. */
import type { AgentSelection } from '../../cache/selection.ts';
import type { CloudNodeGroups } from '../../ports/cloud-node-groups.ts';
import type { PriceTableReader } from '../../ports/price-table.ts';
import type { AgentReport } from './agent-report.ts';
import type { GroupChoice } from './options.ts';
import type { TemplateReport } from './template-report.ts';

/** `revision` grows with each change of the text. */
export interface LearnedText {
  readonly revision: number;
  readonly text: () => string;
}

export interface AzureNodeGroups extends CloudNodeGroups {
  /** undefined: the public price list is not read. */
  readonly prices: PriceTableReader | undefined;
  /** Other groups, limits or options of groups, from the next `observe` on. */
  regroup(choice: GroupChoice): void;
  /** One plain record per caching agent, for `/debug/agents`. */
  agentStatus(): readonly AgentReport[];
  /** One plain record per group, for `/debug/templates`. */
  templateReports(): readonly TemplateReport[];
  /** Which caching agents run from now on. Throws a `config` error that names what cannot be selected. */
  selectAgents(selection: AgentSelection): void;
  /** What was learned of the groups' nodes, to be kept for the next process. */
  learnedTemplates(): LearnedText;
  /** Takes over what an earlier process kept, before the first `observe`. @returns why the text is not believed; undefined: it is. */
  restoreTemplates(text: string): string | undefined;
  /** ARM and token calls under way; a harness in virtual time holds its clock while there are any. */
  inFlightCalls(): number;
  /** Stops the agents and the following of operations. */
  close(): Promise<void>;
}
