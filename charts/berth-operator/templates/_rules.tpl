{{- /* Made by scripts/chart.ts from the code. Change that, and run it again. */ -}}
{{- define "berth-operator.rules.cluster" -}}
- apiGroups:
    - ""
  resources:
    - namespaces
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - delete
- apiGroups:
    - ""
  resources:
    - serviceaccounts
  resourceNames:
    - berth-deployer
  verbs:
    - impersonate
- apiGroups:
    - ""
  resources:
    - serviceaccounts
  verbs:
    - get
    - create
    - patch
- apiGroups:
    - rbac.authorization.k8s.io
  resources:
    - clusterroles
  resourceNames:
    - {{ include "berth-operator.deployerRole" . }}
  verbs:
    - bind
- apiGroups:
    - rbac.authorization.k8s.io
  resources:
    - rolebindings
  verbs:
    - get
    - create
    - patch
    - delete
{{- end -}}
{{- define "berth-operator.rules.deployer" -}}
- apiGroups:
    - ""
  resources:
    - configmaps
    - events
    - persistentvolumeclaims
    - pods
    - secrets
    - serviceaccounts
    - services
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - ""
  resources:
    - endpoints
    - pods/log
  verbs:
    - get
    - list
    - watch
- apiGroups:
    - apps
  resources:
    - daemonsets
    - deployments
    - replicasets
    - statefulsets
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - autoscaling
  resources:
    - horizontalpodautoscalers
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - batch
  resources:
    - cronjobs
    - jobs
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - networking.k8s.io
  resources:
    - ingresses
    - networkpolicies
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - policy
  resources:
    - poddisruptionbudgets
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
- apiGroups:
    - rbac.authorization.k8s.io
  resources:
    - rolebindings
    - roles
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - patch
    - delete
    - deletecollection
{{- end -}}
{{- define "berth-operator.rules.flux" -}}
- apiGroups:
    - ""
  resources:
    - secrets
    - serviceaccounts
  verbs:
    - get
    - list
    - create
    - patch
    - delete
- apiGroups:
    - helm.toolkit.fluxcd.io
  resources:
    - helmreleases
  verbs:
    - get
    - create
    - patch
    - delete
- apiGroups:
    - source.toolkit.fluxcd.io
  resources:
    - gitrepositories
    - helmrepositories
    - ocirepositories
  verbs:
    - get
    - list
    - create
    - patch
    - delete
- apiGroups:
    - source.toolkit.fluxcd.io
  resources:
    - helmcharts
  verbs:
    - get
{{- end -}}
{{- define "berth-operator.rules.argocd" -}}
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - create
    - patch
    - delete
- apiGroups:
    - argoproj.io
  resources:
    - applications
  verbs:
    - get
    - list
    - create
    - patch
    - delete
- apiGroups:
    - argoproj.io
  resources:
    - appprojects
  verbs:
    - get
    - create
    - patch
    - delete
{{- end -}}
{{- define "berth-operator.rules.management" -}}
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - get
    - list
    - watch
    - create
    - update
    - delete
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - patch
- apiGroups:
    - berth.dev
  resources:
    - environments
  verbs:
    - get
    - list
    - watch
    - patch
    - delete
- apiGroups:
    - berth.dev
  resources:
    - environments/status
    - environmenttemplates/status
    - sharedcomponentproviders/status
    - sharedcomponents/status
    - slices/status
  verbs:
    - patch
- apiGroups:
    - berth.dev
  resources:
    - environmenttemplates
    - sharedcomponentproviders
    - sharedcomponents
  verbs:
    - get
    - list
    - watch
    - patch
- apiGroups:
    - berth.dev
  resources:
    - slices
  verbs:
    - get
    - list
    - watch
    - create
    - patch
    - delete
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - create
    - update
    - delete
- apiGroups:
    - events.k8s.io
  resources:
    - events
  verbs:
    - create
    - patch
{{- end -}}
{{- define "berth-operator.rules.shared" -}}
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
- apiGroups:
    - batch
  resources:
    - jobs
  verbs:
    - get
    - list
    - watch
    - create
    - delete
{{- end -}}
