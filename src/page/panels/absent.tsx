/** What stands in place of the panels while there is no overview: it is starting, another replica leads, or access is refused. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Refusal } from '../parts/api-client.ts';
import { after, storeToken } from '../parts/browser.ts';
import type { LiveOverview } from '../parts/live-overview.ts';
import { Command } from '../parts/parts.tsx';

const LONG_WAIT_MS = 2_000;

/** What stands instead of the panels when there is no overview. */
export function Absent({ refusal, live }: { readonly refusal: Refusal | undefined; readonly live: LiveOverview }) {
  const [isLong, setLong] = useState(false);
  useEffect(() => after(LONG_WAIT_MS, () => setLong(true)), []);
  if (refusal?.kind === 'standby') return <Standby {...refusal} />;
  if (refusal?.kind === 'token') return <TokenForm live={live} />;
  if (refusal?.kind === 'refused' || refusal?.kind === 'missing')
    return <Notice title="This page may not be read from here">{refusal.message}</Notice>;
  if (refusal?.kind === 'lost')
    return (
      <Notice title="No daemon answers at this address">
        If it restarted, start the port-forward again:
        <Command text="kubectl -n kube-system port-forward deploy/aks-autoscaler 8085" />
      </Notice>
    );
  return (
    <main class="wrap" aria-busy="true">
      <section class="panel lead">
        <h1 class={isLong ? '' : 'sk'}>
          {isLong ? 'Waiting for the first loop, usually 5 s after the start' : <span class="vh">Loading</span>}
        </h1>
        <p class="sk short" />
        <p class="sk" />
        <p class="sk" />
      </section>
    </main>
  );
}

function Notice({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <main class="wrap">
      <section class="panel lead">
        <h1>{title}</h1>
        <div class="notice">{children}</div>
      </section>
    </main>
  );
}

function Standby({ leader, command, message }: { readonly leader?: string; readonly command?: string; readonly message: string }) {
  if (leader === undefined)
    return (
      <Notice title="Allowed to act: no, because no replica is known to hold the Lease">
        <p>
          {`${message.charAt(0).toUpperCase()}${message.slice(1)}.`} This page looks again by itself. What is wrong with the Lease or its
          rights:
        </p>
        <Command text="aks-autoscaler doctor" />
      </Notice>
    );
  return (
    <Notice title={`This replica is a standby. The leader is ${leader}`}>
      <p>A standby decides nothing and has no history. Pending pods, pools, changes and decisions are on the leader's page:</p>
      {command !== undefined && <Command text={command} />}
    </Notice>
  );
}

function TokenForm({ live }: { readonly live: LiveOverview }) {
  const [token, setToken] = useState('');
  return (
    <Notice title="This daemon asks for its token">
      <p>It is the content of the file that http.debugTokenFile names. This tab keeps it until it is closed.</p>
      <form
        class="cmd"
        onSubmit={(event) => {
          event.preventDefault();
          storeToken(token.trim());
          void live.connect();
        }}
      >
        <label class="vh" for="token">
          Token
        </label>
        <input id="token" type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        <button type="submit" class="btn">
          Use it
        </button>
      </form>
    </Notice>
  );
}
