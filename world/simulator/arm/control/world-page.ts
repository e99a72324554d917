/**
 * The page at `/_emu/`: pools, instances, faults and the journal, and faults by a click. It is one document without a build, since the
 * simulated world also runs from its package, and reads and writes what any client of the control surface can.
 */

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8889; --bad: #c33; --ok: #2a8; --wait: #c80; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 78rem; padding: 1rem; }
h1 { font-size: 1.2rem; margin: 0; } h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap; } #now { color: var(--soft); }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
.vm { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin: 0 2px 2px 0; background: var(--ok); }
.vm.wait { background: var(--wait); } .vm.bad { background: var(--bad); } .vm.off { background: var(--soft); }
button, select { font: inherit; padding: .1rem .5rem; } form { display: flex; gap: .5rem; flex-wrap: wrap; }
#journal { max-height: 26rem; overflow: auto; font-family: ui-monospace, monospace; font-size: 12px; }
.bad-text { color: var(--bad); } .event { font-style: italic; } #said { min-height: 1.4em; }
`;

const SCRIPT = `
const at = (id) => document.getElementById(id);
function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}
const call = async (method, path, body) => {
  const reply = await fetch(path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
  const text = await reply.text();
  const read = text === '' ? {} : JSON.parse(text);
  at('said').textContent = reply.ok ? '' : read.error ?? 'HTTP ' + reply.status;
  at('said').className = reply.ok ? '' : 'bad-text';
  return read;
};
const button = (text, act) => {
  const element = make('button', text);
  element.type = 'button';
  element.onclick = () => act().then(refresh);
  return element;
};
const kindOf = (vm) =>
  vm.provisioningState === 'Failed' ? 'bad' : vm.provisioningState !== 'Succeeded' ? 'wait' : vm.power === 'running' ? '' : 'off';
function poolRow(state, pool) {
  const set = state.sets.find((entry) => entry.pool === pool.name);
  const row = make('tr');
  const machines = set ? set.instances : pool.machines;
  for (const text of [pool.name, set ? set.capacity : pool.size, set ? set.min + ' to ' + set.max : '', set ? set.provisioningState : pool.provisioningState, set ? set.etag : ''])
    row.append(make('td', String(text), 'n'));
  const cell = make('td');
  for (const vm of machines) {
    const box = make('span', undefined, 'vm ' + kindOf(vm));
    box.title = vm.name + ', ' + vm.vmSize + ', ' + vm.provisioningState + ', ' + vm.power + (vm.error ? ', ' + vm.error : '');
    cell.append(box);
  }
  const acts = make('td');
  const raise = (event) => () => call('POST', '/_emu/events', event);
  acts.append(button('another writer: +1', raise({ foreignScale: { pool: pool.name, delta: 1 } })), ' ');
  acts.append(button('evict half', raise({ evict: { pool: pool.name, fraction: 0.5 } })));
  row.append(cell, acts);
  return row;
}
// Incidents that this page raised: some change the world and are no fault of its list.
const raised = new Map();
function faultRow({ id, match, effect }) {
  const row = make('tr');
  row.append(make('td', raised.get(id) ?? id), make('td', match ? JSON.stringify(match) : ''), make('td', effect ? JSON.stringify(effect).slice(0, 160) : ''));
  const cell = make('td');
  cell.append(button('end', () => { raised.delete(id); return call('DELETE', '/_emu/faults/' + encodeURIComponent(id)); }));
  row.append(cell);
  return row;
}
function journalLine(entry) {
  const size = entry.capacityAfter === undefined ? '' : '  capacity ' + entry.capacityBefore + ' to ' + entry.capacityAfter;
  const fault = entry.faultId === undefined ? '' : '  fault ' + entry.faultId;
  const text = new Date(entry.at).toISOString().slice(11, 19) + '  ' + entry.status + '  ' + entry.route + '  ' + (entry.pool ?? '') + size + fault;
  return make('div', text, entry.method === 'EVENT' ? 'event' : entry.status >= 400 ? 'bad-text' : '');
}
let seq = 0;
let pools = '';
async function refresh() {
  const state = await (await fetch('/_emu/state')).json();
  const { entries } = await (await fetch('/_emu/journal?since=' + seq)).json();
  at('now').textContent = new Date(state.nowMs).toISOString().replace('T', ' ').slice(0, 19) + ' UTC, ' + state.violations.length + ' unsafe writes';
  at('pools').replaceChildren(...state.agentPools.map((pool) => poolRow(state, pool)));
  const listed = new Set(state.faults.map(({ id }) => id));
  const others = [...raised.keys()].filter((id) => !listed.has(id) && ![...listed].some((other) => other.startsWith(id))).map((id) => ({ id }));
  at('faults').replaceChildren(...[...state.faults, ...others].map(faultRow));
  at('nofaults').hidden = state.faults.length + others.length > 0;
  // A click and the clock may read at once.
  for (const entry of entries.filter((each) => each.seq > seq)) {
    seq = entry.seq;
    at('journal').prepend(journalLine(entry));
  }
  while (at('journal').childElementCount > 300) at('journal').lastElementChild.remove();
  const names = state.agentPools.map(({ name }) => name);
  if (names.join() !== pools) at('pool').replaceChildren(...['any pool', ...names].map((name) => new Option(name, name === 'any pool' ? '' : name)));
  pools = names.join();
}
at('inject').onsubmit = (event) => {
  event.preventDefault();
  const pool = at('pool').value;
  const order = { catalogue: Number(at('incident').value), ...(pool === '' ? {} : { match: { pool } }) };
  const name = at('incident').selectedOptions[0].textContent;
  call('POST', '/_emu/faults', order).then(({ id }) => { if (id) raised.set(id, name); }).then(refresh);
};
const follow = () => refresh().then(() => setTimeout(follow, 1000), () => { at('now').textContent = 'The world does not answer.'; setTimeout(follow, 3000); });
call('GET', '/_emu/incidents').then(({ incidents }) => at('incident').replaceChildren(...incidents.map(({ number, name }) => new Option(number + ' ' + name, number)))).then(follow);
`;

export const WORLD_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Simulated AKS cluster</title>
    <link rel="icon" href="data:," />
    <style>${STYLE}</style>
  </head>
  <body>
    <header><h1>Simulated AKS cluster</h1><span id="now"></span></header>
    <h2>Pools</h2>
    <table><thead><tr><th>Pool</th><th>Capacity</th><th>Limits</th><th>State</th><th>ETag</th><th>Instances</th><th>Events</th></tr></thead><tbody id="pools"></tbody></table>
    <h2>Faults</h2>
    <form id="inject"><select id="incident" aria-label="Incident"></select><select id="pool" aria-label="Pool"></select><button>Inject</button></form>
    <p id="said" role="status"></p>
    <p id="nofaults">No fault is active.</p>
    <table><tbody id="faults"></tbody></table>
    <h2>Journal, newest first</h2>
    <div id="journal"></div>
    <noscript>This page needs JavaScript. The same facts: /_emu/state and /_emu/journal.</noscript>
    <script>${SCRIPT}</script>
  </body>
</html>
`;
