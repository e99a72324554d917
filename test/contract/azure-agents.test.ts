/** The agents that a configuration may name are those there are, and one that is disabled asks Azure nothing. */
import { describe, expect, it } from 'vitest';
import { EVERY_AGENT } from '../../src/cache/agents/agent-selection.ts';
import { INSTANCES_PREFIX, OPTIONAL_AGENTS, REQUIRED_AGENTS } from '../../src/config/schema/azure.ts';
import { meet } from '../azure/meeting.ts';

describe('agents of Azure', () => {
  it('have the names and are required as the configuration says', async () => {
    const m = await meet();
    const status = m.azure.agentStatus();
    expect(status.length).toBeGreaterThan(4);
    for (const { id, required } of status) {
      const names: readonly string[] = [...REQUIRED_AGENTS, ...OPTIONAL_AGENTS];
      expect(names.includes(id) || id.startsWith(INSTANCES_PREFIX), id).toBe(true);
      expect(!(OPTIONAL_AGENTS as readonly string[]).includes(id), id).toBe(required);
    }
  });

  it('one that is disabled asks nothing from the start on, and is due when it is enabled again', async () => {
    const usages = (): number => m.arm.control.journal().filter(({ path }) => path.toLowerCase().endsWith('/usages')).length;
    const m = await meet({ agents: { ...EVERY_AGENT, disabled: ['usage', 'prices'] } });
    await m.pass(600_000);
    expect(usages()).toBe(0);
    expect(m.azure.agentStatus().find(({ id }) => id === 'usage')).toMatchObject({ enabled: false, state: 'disabled' });
    m.azure.selectAgents(EVERY_AGENT);
    await m.pass(2_000);
    expect(usages()).toBe(1);
  });

  it('a name that no agent can have ends the start before Azure is asked', async () => {
    await expect(meet({ agents: { ...EVERY_AGENT, disabled: ['prizes'] } })).rejects.toThrow(
      /no caching agent "prizes"; there are: .*scaleSets/,
    );
  });

  it('the machines of sets are not known while their lists are disabled', async () => {
    const m = await meet({ agents: { ...EVERY_AGENT, disabled: [`${INSTANCES_PREFIX}*`], allowDegraded: true } });
    const general = m.group('general');
    expect(general.instances).toBeUndefined();
  });
});
