/** The kinds that people create with kubectl beside those of an autoscaler, with the field numbers of the API's published generated.proto files (k8s.io/api 0.36). */
import { flag, many, message, metadata, number, one, SELECTOR, STATUS, TEMPLATE, text, texts, type Message } from './protobuf-kinds.ts';

const JOB_SPEC = message({
  1: number('parallelism'),
  2: number('completions'),
  3: number('activeDeadlineSeconds'),
  4: one('selector', SELECTOR),
  5: flag('manualSelector'),
  6: one('template', TEMPLATE),
  7: number('backoffLimit'),
  8: number('ttlSecondsAfterFinished'),
  9: text('completionMode'),
  10: flag('suspend'),
  12: number('backoffLimitPerIndex'),
  13: number('maxFailedIndexes'),
  14: text('podReplacementPolicy'),
  15: text('managedBy'),
});
const CRON_JOB_SPEC = message({
  1: text('schedule'),
  2: number('startingDeadlineSeconds'),
  3: text('concurrencyPolicy'),
  4: flag('suspend'),
  5: one('jobTemplate', message({ 1: metadata, 2: one('spec', JOB_SPEC) })),
  6: number('successfulJobsHistoryLimit'),
  7: number('failedJobsHistoryLimit'),
  8: text('timeZone'),
});
const SERVICE_PORT = message({
  1: text('name'),
  2: text('protocol'),
  3: number('port'),
  4: { name: 'targetPort', kind: 'intOrText' },
  5: number('nodePort'),
  6: text('appProtocol'),
});
const SERVICE_SPEC = message({
  1: many('ports', SERVICE_PORT),
  2: { name: 'selector', kind: 'textMap' },
  3: text('clusterIP'),
  4: text('type'),
  5: texts('externalIPs'),
  7: text('sessionAffinity'),
  8: text('loadBalancerIP'),
  9: texts('loadBalancerSourceRanges'),
  10: text('externalName'),
  11: text('externalTrafficPolicy'),
  12: number('healthCheckNodePort'),
  13: flag('publishNotReadyAddresses'),
  17: text('ipFamilyPolicy'),
  18: texts('clusterIPs'),
  19: texts('ipFamilies'),
  20: flag('allocateLoadBalancerNodePorts'),
  21: text('loadBalancerClass'),
  22: text('internalTrafficPolicy'),
  23: text('trafficDistribution'),
});
const QUOTA_SPEC = message({ 1: { name: 'hard', kind: 'quantities' }, 2: texts('scopes') });

const SCALE_TARGET = message({ 1: text('kind'), 2: text('name'), 3: text('apiVersion') });
const METRIC_TARGET = message({
  1: text('type'),
  2: { name: 'value', kind: 'quantity' },
  3: { name: 'averageValue', kind: 'quantity' },
  4: number('averageUtilization'),
});
const METRIC = message({ 1: text('type'), 4: one('resource', message({ 1: text('name'), 2: one('target', METRIC_TARGET) })) });
const AUTOSCALER_SPEC = message({
  1: one('scaleTargetRef', SCALE_TARGET),
  2: number('minReplicas'),
  3: number('maxReplicas'),
  4: many('metrics', METRIC),
});

const BACKEND = message({
  4: one('service', message({ 1: text('name'), 2: one('port', message({ 1: text('name'), 2: number('number') })) })),
});
const INGRESS_PATH = message({ 1: text('path'), 2: one('backend', BACKEND), 3: text('pathType') });
const INGRESS_RULE = message({
  1: text('host'),
  2: one('ingressRuleValue', message({ 1: one('http', message({ 1: many('paths', INGRESS_PATH) })) })),
});
const INGRESS_SPEC = message({
  1: one('defaultBackend', BACKEND),
  2: many('tls', message({ 1: texts('hosts'), 2: text('secretName') })),
  3: many('rules', INGRESS_RULE),
  4: text('ingressClassName'),
});

function kindOf(spec: Message): Message {
  return message({ 1: metadata, 2: one('spec', spec), 3: STATUS });
}

export const WORKLOAD_KINDS: ReadonlyMap<string, Message> = new Map([
  ['batch/v1 Job', kindOf(JOB_SPEC)],
  ['batch/v1 CronJob', kindOf(CRON_JOB_SPEC)],
  ['v1 Service', kindOf(SERVICE_SPEC)],
  ['v1 ResourceQuota', kindOf(QUOTA_SPEC)],
  ['autoscaling/v2 HorizontalPodAutoscaler', kindOf(AUTOSCALER_SPEC)],
  // Read, so that the refusal is that of a kind which this server does not have.
  ['networking.k8s.io/v1 Ingress', kindOf(INGRESS_SPEC)],
]);
