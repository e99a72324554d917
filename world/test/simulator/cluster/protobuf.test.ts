/** Bodies as kubectl 1.33 sent them; 1.36 sends the same types. */
import { describe, expect, it } from 'vitest';
import { decodeProtobuf } from '../../../simulator/cluster/protobuf/protobuf.ts';

const NAMESPACE = '6b3873000a0f0a02763112094e616d657370616365121b0a130a03666f6f12001a0022002a0032003800420012001a020a001a002200';
const CONFIG_MAP = '6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a017812001a0022002a0032003800420012060a01611201621a002200';
const DEPLOYMENT =
  '6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b8010a1f0a0377656212001a0022002a003200380042005a0a0a0361707012037765621286010803120c0a0a0a0361707012037765621a6c0a1c0a0012001a0022002a003200380042005a0a0a036170701203776562124c122e0a056e67696e7812056e67696e782a00320a0a001000185022002a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200';
const BUDGET =
  '6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412350a110a017012001a0022002a0032003800420012140a06080010011a00120a0a080a036170701201781a0a080018002000280030001a002200';
const PRIORITY =
  '6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312300a120a02686912001a0022002a003200380042001064180022002a14507265656d70744c6f7765725072696f726974791a002200';
const JOB =
  'azhzAAoPCghiYXRjaC92MRIDSm9iEoQBChQKBG9uY2USABoAIgAqADIAOABCABJiMmAKEAoAEgAaACIAKgAyADgAQgASTBIpCgRvbmNlEgdidXN5Ym94GgRkYXRlKgBCAGoAcgCAAQCIAQCQAQCiAQAaBU5ldmVyMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAaCCAAKAAwADoAGgAiAA==';
const CRON_JOB =
  'azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKyAQoXCgduaWdodGx5EgAaACIAKgAyADgAQgASlAEKCTAgMSAqICogKhoAKoQBChcKB25pZ2h0bHkSABoAIgAqADIAOABCABJpMmcKEAoAEgAaACIAKgAyADgAQgASUxIsCgduaWdodGx5EgdidXN5Ym94GgRkYXRlKgBCAGoAcgCAAQCIAQCQAQCiAQAaCU9uRmFpbHVyZTIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGgAaACIA';
const SERVICE =
  'azhzAAoNCgJ2MRIHU2VydmljZRJpCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkIKGwoHODAtODA4MBIDVENQGFAiBwgAEJA/GgAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==';
const EXTERNAL =
  'azhzAAoNCgJ2MRIHU2VydmljZRJYCh8KA2ZhchIAGgAiACoAMgA4AEIAWgoKA2FwcBIDZmFyEjESCgoDYXBwEgNmYXIaACIMRXh0ZXJuYWxOYW1lOgBCAFIJYS5leGFtcGxlWgBgAGgAGgIKABoAIgA=';
const QUOTA = 'azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI0ChUKBXNtYWxsEgAaACIAKgAyADgAQgASGQoKCgNjcHUSAwoBMQoLCgRwb2RzEgMKATMaABoAIgA=';
const AUTOSCALER =
  'azhzAAopCg5hdXRvc2NhbGluZy92MhIXSG9yaXpvbnRhbFBvZEF1dG9zY2FsZXISXQoSCgJkMhIAGgAiACoAMgA4AEIAEkEKGQoKRGVwbG95bWVudBICZDIaB2FwcHMvdjEYAyIiCghSZXNvdXJjZSIWCgNjcHUSDwoLVXRpbGl6YXRpb24gMhoEGAAgABoAIgA=';

const TEMPLATE = {
  template: { spec: { containers: [{ image: 'busybox', command: ['date'] }], restartPolicy: expect.any(String) as unknown } },
};

/** Some were kept as hexadecimal digits, others in base 64. */
function bytesOf(body: string): Buffer {
  return Buffer.from(body, body.startsWith('6b38') ? 'hex' : 'base64');
}

describe('protobuf bodies', () => {
  it.each([
    ['a namespace', NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'foo' } }],
    ['a config map', CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } }],
    [
      'a budget',
      BUDGET,
      { kind: 'PodDisruptionBudget', metadata: { name: 'p' }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'x' } } } },
    ],
    [
      'a priority class',
      PRIORITY,
      { kind: 'PriorityClass', metadata: { name: 'hi' }, value: 100, preemptionPolicy: 'PreemptLowerPriority' },
    ],
    [
      'a deployment',
      DEPLOYMENT,
      {
        apiVersion: 'apps/v1',
        metadata: { name: 'web', labels: { app: 'web' } },
        spec: {
          replicas: 3,
          selector: { matchLabels: { app: 'web' } },
          template: {
            metadata: { labels: { app: 'web' } },
            spec: { containers: [{ name: 'nginx', image: 'nginx', ports: [{ containerPort: 80 }] }] },
          },
        },
      },
    ],
    ['a job', JOB, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'once' }, spec: TEMPLATE }],
    [
      'a cron job',
      CRON_JOB,
      { kind: 'CronJob', metadata: { name: 'nightly' }, spec: { schedule: '0 1 * * *', jobTemplate: { spec: TEMPLATE } } },
    ],
    [
      'a service',
      SERVICE,
      {
        kind: 'Service',
        spec: { ports: [{ name: '80-8080', protocol: 'TCP', port: 80, targetPort: 8080 }], selector: { app: 'web' }, type: 'ClusterIP' },
      },
    ],
    ['a service of another name', EXTERNAL, { spec: { type: 'ExternalName', externalName: 'a.example' } }],
    ['a quota', QUOTA, { kind: 'ResourceQuota', spec: { hard: { cpu: '1', pods: '3' } } }],
    [
      'an autoscaler of pods',
      AUTOSCALER,
      {
        apiVersion: 'autoscaling/v2',
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd2' },
          maxReplicas: 3,
          metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
        },
      },
    ],
  ])('reads %s', (_name, body, expected) => {
    expect(decodeProtobuf(bytesOf(body))).toMatchObject(expected);
  });

  it.each([
    [
      'a kind that it has no table for',
      NAMESPACE.replace(Buffer.from('Namespace').toString('hex'), Buffer.from('Namespbce').toString('hex')),
    ],
    ['a body cut short', NAMESPACE.slice(0, 60)],
    ['a field that it does not know and that says something', CONFIG_MAP.replace('12060a0161120162', '22060a0161120162')],
    ['something else', '00112233'],
  ])('does not read %s', (_name, hex) => {
    expect(decodeProtobuf(Buffer.from(hex, 'hex'))).toBeUndefined();
  });
});
